"""What happens when the user does something: between the window's signals and the state. Each is made by the wiring."""
