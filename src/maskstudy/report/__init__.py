"""The paper: tables and sentences made from the results, and the template that sets them."""
