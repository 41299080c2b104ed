"""What is known of a server: its row of the table, what it has refused, the models it tells of."""
