/**
 * Renderers that need large packages. This file is loaded on demand, so that the first frame does not wait for these
 * packages.
 */
export { diffLines, summary } from '../text/diff-lines.ts';
export { patchLine } from '../../display/text/index.ts';
export { markdown } from '../text/markdown.ts';
