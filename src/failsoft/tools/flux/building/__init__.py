"""Operations that make models: from proteins, by filling gaps, and as changed copies."""
