from viz_model.ui import frame; frame.navigation()
