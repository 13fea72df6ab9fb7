/** The functions that need large packages: Markdown, file changes and highlighted code. */
export { changeOf, type FileChange } from './change.ts';
export { highlight, patchLine } from './highlight.ts';
export { decodedEntities, markdownTokens } from './markdown.ts';
