"""The edit toolset: several edits of one file or of many, all or none."""
