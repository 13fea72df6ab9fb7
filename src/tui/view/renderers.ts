/** Renderers that need large packages. A separate file, so that the first frame does not wait for them. */
export { diffLines, summary } from '../text/diff-lines.ts';
export { markdown } from '../text/markdown.ts';
