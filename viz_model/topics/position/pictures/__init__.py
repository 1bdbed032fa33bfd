"""Position: pictures of every scheme, a file for each place where a scheme acts."""
