// Whether Streamlit runs the page, which its outermost element says.
export const APP = "[data-testid=stApp]"
export const isRunning = () => document.querySelector(APP)?.dataset.testScriptState === "running"
