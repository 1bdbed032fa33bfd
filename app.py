"""The app: ``viz-model``, or here ``streamlit run app.py``. The pages are in pages/, everything else in viz_model/."""

from viz_model.app import frame

frame.run()
