/** The terminal UI, a client of a live session. */
export { pickSession, type ResumableSession } from './screens/picker.tsx';
export { startTui } from './start.tsx';
export type { PromptHistory, TuiOptions } from './control/options.ts';
