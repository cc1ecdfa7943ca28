"""What keeps a table in order: optimize, delete, upgrade, verify, repair, clean."""
