"""Where models come from: the folders shipped with the package, or a folder you name."""
