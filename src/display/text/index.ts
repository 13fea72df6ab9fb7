/**
 * Markdown, file changes and highlighted code. They are not in `display/index.ts`, because Markdown and file changes
 * need large packages.
 */
export { changeOf, contentNote, largeChange, type FileChange } from './change.ts';
export { highlight, patchLine } from './highlight.ts';
export { decodedEntities, markdownTokens } from './markdown.ts';
