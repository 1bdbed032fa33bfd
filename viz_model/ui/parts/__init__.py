"""Parts of pages that have more than one form."""
