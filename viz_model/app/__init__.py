"""The only part of the package that knows Streamlit: state, frame, texts and components."""
