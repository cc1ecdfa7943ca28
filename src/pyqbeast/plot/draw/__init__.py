"""Pictures of what was gathered: a page to explore, drawn by Bokeh, and images for reports, drawn by Matplotlib."""
