// Where a file beside this module is; a page that was saved as a file has it within itself.
export const file = name => globalThis.vizFiles?.[name] ?? new URL(name, import.meta.url).href
