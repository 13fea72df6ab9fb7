export { BoundedMap } from './bounded-map.ts';
export { problemAt, problemsIn, type JsoncProblem } from './jsonc-problems.ts';
export { JsoncError, parseJsonc, type Jsonc } from './jsonc.ts';
export { wordIssue } from './issue.ts';
