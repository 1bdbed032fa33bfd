"""One folder for each page: its numbers, pictures, sections, texts and code to copy."""
