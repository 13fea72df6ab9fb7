/** The terminal UI, a client of a live session. */
export { pickSession } from './screens/picker.tsx';
export { startTui } from './start.tsx';
export type { PromptHistory } from './control/options.ts';
