/**
 * The `budgets` section of the configuration. The budgets of keys are not in the configuration. They are set with
 * `parley keys` or `/a2a/keys`.
 *
 *   "budgets": {
 *     "workspaces": { "*": { "amount": 100, "currency": "USD", "period": "month" } },
 *     "subjects": { "*": { "tokens": 1000000, "period": "day" } },
 *     "task": { "calls": 20, "amount": 2, "currency": "USD" }
 *   }
 */
import * as z from 'zod';
import { integer } from '../api/fields.ts';
import { Budget, budgetFields, withCurrency } from './budget.ts';

const MAX_NAMES = 10_000;
const { tokens, amount, currency } = budgetFields;

const byName = z
  .record(z.string().min(1).max(320), Budget)
  .refine((budgets) => Object.keys(budgets).length <= MAX_NAMES, `at most ${MAX_NAMES} budgets`);

export const TaskLimit = withCurrency(
  z.strictObject({
    calls: integer(1, 1_000_000)
      .optional()
      .describe('Maximum number of calls to models and agents for one task'),
    tokens,
    amount,
    currency,
  }),
).refine((limit) => Object.keys(limit).length > 0, 'a limit must have calls, tokens or an amount');
export type TaskLimit = Readonly<z.infer<typeof TaskLimit>>;

export const BudgetsConfig = z
  .strictObject({
    workspaces: byName
      .optional()
      .describe(
        'The budget of each workspace, by name. * is for each workspace without its own budget',
      ),
    subjects: byName
      .optional()
      .describe(
        'The budget of each JWT subject in a workspace, as WORKSPACE/SUBJECT. WORKSPACE/* is for each subject of the workspace without its own budget, and * is for all other subjects',
      ),
    task: TaskLimit.optional().describe('The limit of each task'),
  })
  .describe(
    'Budgets for workspaces, JWT subjects and tasks. Budgets of keys are set with parley keys or /a2a/keys',
  );
export type BudgetsConfig = Readonly<z.infer<typeof BudgetsConfig>>;

export function budgetOfWorkspace(
  { workspaces = {} }: BudgetsConfig,
  workspace: string,
): Budget | undefined {
  return firstOf(workspaces, [workspace, '*']);
}

export function budgetOfSubject(
  { subjects = {} }: BudgetsConfig,
  workspace: string,
  subject: string,
): Budget | undefined {
  return firstOf(subjects, [`${workspace}/${subject}`, `${workspace}/*`, '*']);
}

/** Returns the subjects of the workspace that have their own budgets, sorted by name. */
export function namedSubjects({ subjects = {} }: BudgetsConfig, workspace: string): string[] {
  const start = `${workspace}/`;
  const names = Object.keys(subjects).filter((name) => name.startsWith(start));
  return names
    .map((name) => name.slice(start.length))
    .filter((subject) => subject !== '*')
    .toSorted();
}

/** Returns whether there is a budget for the subjects of the workspace that are not named (`WORKSPACE/*` or `*`). */
export function hasBudgetOfOthers({ subjects = {} }: BudgetsConfig, workspace: string): boolean {
  return firstOf(subjects, [`${workspace}/*`, '*']) !== undefined;
}

function firstOf(
  budgets: Readonly<Record<string, Budget>>,
  names: readonly string[],
): Budget | undefined {
  const name = names.find((each) => Object.hasOwn(budgets, each));
  return name === undefined ? undefined : budgets[name];
}
