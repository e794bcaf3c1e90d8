"""Who is here and who plays whom."""
