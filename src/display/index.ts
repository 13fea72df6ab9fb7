/**
 * The content that every display of a live session shows, independent of the screen: the entries of its history, safe
 * text, the titles of calls, answers and completions. The terminal UI and the web page both use it. This file loads no
 * schema and no large package; state/index.ts and text/index.ts do.
 */
export * from './answers.ts';
export * from './call-text.ts';
export * from './completion.ts';
export * from './state/attention.ts';
export * from './state/entry.ts';
export * from './state/state.ts';
export * from './text/clean.ts';
export * from './text/local-time.ts';
export * from './text/spans.ts';
export * from './who.ts';
