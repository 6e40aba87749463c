"""Plans: what may be written, submitted by one author and approved by another."""
