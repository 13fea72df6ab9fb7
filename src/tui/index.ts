/** The terminal UI: a client of a live session, and nothing else. */
export type { PickerItem } from './input/picker.ts';
export type { ExitReason, PromptHistory, TuiOptions } from './options.ts';
export { pickSession } from './screens/picker.tsx';
export { isTerminal, startTui } from './start.tsx';
