// Streamlit's outermost element, which has the page's color and says whether Streamlit runs; a file has none.
export const app = () => document.querySelector("[data-testid=stApp]") ?? document.body
export const isRunning = () => app().dataset.testScriptState === "running"
