"""What a Transformer costs: multiplications counted on its declarations, and times measured on this machine."""
