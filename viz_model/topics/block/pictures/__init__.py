"""Block: one token's vector on its way up, lengths by depth, a norm at work, the hidden neurons, the weights."""
