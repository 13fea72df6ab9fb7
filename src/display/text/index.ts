/** Markdown and file changes, which need large packages, and highlighted code. */
export { changeOf, type FileChange } from './change.ts';
export { highlight, patchLine } from './highlight.ts';
export { decodedEntities, markdownTokens } from './markdown.ts';
