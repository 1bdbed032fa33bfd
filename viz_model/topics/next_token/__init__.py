"""What comes out: the next token, a covered token, or vectors."""
