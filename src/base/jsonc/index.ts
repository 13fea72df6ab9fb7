export { JsoncError, parseJsonc, type Jsonc } from './jsonc.ts';
export { problemAt, problemsIn, type JsoncProblem } from './problems.ts';
