export { createAudit } from '../audit/audit.ts';
export { Budget, BUDGET_PERIODS } from '../budgets/budget.ts';
export { readKeySpending } from '../budgets/key-spending.ts';
export { createKeys, type Keys } from './keys.ts';
export { openPepper } from './pepper.ts';
export { Key, type KeyChange, MadeKey, NewKey } from './schema.ts';
