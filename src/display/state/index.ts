/** The reducer, which loads the schemas. */
export { reduceState } from './reduce.ts';
