/** What needs the larger packages, in a file of its own so that the first frame need not wait for them. */
export { diffLines, summary } from '../text/diff-lines.ts';
export { markdown } from '../text/markdown.ts';
