/** The reducer. It is not in `display/index.ts`, because it loads the schemas. */
export { reduceState } from './reduce.ts';
