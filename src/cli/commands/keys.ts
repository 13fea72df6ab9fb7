/**
 * `parley keys`: the keys of a gateway, made and withdrawn on the machine where it keeps its data. The gateway may be
 * running meanwhile; it sees the change with its next request.
 */
import { existsSync } from 'node:fs';
import { nearestNames } from '../../base/index.ts';
import { DEFAULT_WORKSPACE, SCOPES } from '../../gateway/index.ts';
import { openRegister, registerPath } from '../../gateway/register/index.ts';
import {
  createAudit,
  createKeys,
  type Keys,
  openPepper,
  type Budget,
  type Key,
  type MadeKey,
  type NewKey,
} from '../../gateway/keys/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { StoreError } from '../../store/index.ts';
import { type Command, defineCommand } from '../program/command.ts';
import { EXIT, ExitError, usageError } from '../program/exit.ts';
import { type Environment, wholeNumber } from '../program/flags.ts';
import { createLog } from '../program/log.ts';
import { timeOf } from '../program/render.ts';
import { storeLocation } from '../program/store-location.ts';
import {
  bold,
  dim,
  green,
  note,
  quoted,
  red,
  say,
  sayJson,
  word,
  yellow,
} from '../program/terminal.ts';
import { unusableKeys } from '../gateway/unusable-keys.ts';

const ACTOR = 'cli';
/** What using the gateway takes, and nothing of running it. */
const DEFAULT_SCOPES: NewKey['scopes'] = ['tasks:read', 'tasks:write', 'agents:use', 'cards:read'];
const DAY_MS = 86_400_000;
const MAX_EXPIRY_DAYS = 3650;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const PERIODS = ['day', 'month', 'total'] as const;

const COMMON = {
  workspace: {
    type: 'string',
    value: 'NAME',
    help: `The workspace; ${DEFAULT_WORKSPACE} unless told.`,
  },
  store: {
    type: 'string',
    value: 'WHERE',
    help: "The gateway's store, as it was started with: sqlite:PATH. In the data folder by default.",
  },
  json: { type: 'boolean', help: 'Print one JSON object.' },
} as const;

interface Place {
  readonly values: { readonly workspace: string | undefined; readonly store: string | undefined };
  readonly typed: ReadonlySet<string>;
  readonly environment: Environment;
}

/** PARLEY_WORKSPACE is a folder, the coding agent's: it is no workspace of a gateway. */
function workspaceOf({ values, typed }: Place): string {
  return (typed.has('workspace') ? values.workspace : undefined) ?? DEFAULT_WORKSPACE;
}

const create = defineCommand({
  name: 'keys create',
  operands: [],
  about: `Makes a key and prints it, once. Its scopes are ${SCOPES.join(', ')}, or * for all of them.`,
  flags: {
    name: { type: 'string', value: 'TEXT', help: 'What the key is for. Needed.' },
    scope: {
      type: 'string',
      value: 'SCOPE',
      multiple: true,
      help: `What it may do; ${DEFAULT_SCOPES.join(', ')} by default.`,
    },
    expires: {
      type: 'string',
      value: 'WHEN',
      help: 'A time (2027-01-31T00:00:00Z) or days (30d).',
    },
    rate: { type: 'string', value: 'N', help: 'How many requests a minute it has.' },
    'budget-tokens': { type: 'string', value: 'N', help: 'How many tokens it may use.' },
    'budget-amount': { type: 'string', value: 'AMOUNT', help: 'How much money it may spend.' },
    'budget-currency': { type: 'string', value: 'CODE', help: 'Of the amount; USD by default.' },
    'budget-period': {
      type: 'string',
      value: 'PERIOD',
      help: 'day, month (the default) or total.',
    },
    ...COMMON,
  },
  examples: [
    'parley keys create --name ci --expires 90d',
    "parley keys create --name admin --scope '*'",
    'parley keys create --name team --budget-amount 50 --budget-period month',
  ],
  async run(input) {
    const { values } = input;
    if (values.name === undefined) {
      throw usageError('parley keys create needs --name: for example, --name ci');
    }
    const budget = budgetOf(values);
    const fields = {
      workspace: workspaceOf(input),
      name: values.name,
      // The schema says which of them there are.
      scopes: values.scope.length > 0 ? (values.scope as NewKey['scopes']) : DEFAULT_SCOPES,
      ...(values.expires !== undefined && { expiresAt: expiry(values.expires) }),
      ...(values.rate !== undefined && {
        rateLimit: { requestsPerMinute: wholeNumber('--rate', values.rate, { min: 1, max: 1e6 }) },
      }),
      ...(budget && { budget }),
    };
    const made = await withKeys(input, true, (keys) => {
      needOurPepper(keys);
      return keys.create(fields, ACTOR);
    });
    printMade(
      made,
      values.json,
      'This is the only time that it is shown: keep it in a safe place.',
    );
    return EXIT.done;
  },
});

const list = defineCommand({
  name: 'keys list',
  operands: [],
  about: 'Lists the keys of a workspace, the newest first. Secrets are never shown.',
  flags: {
    ...COMMON,
    json: { type: 'boolean', help: 'Print an object for each, one on each line.' },
  },
  examples: ['parley keys list', 'parley keys list --workspace team --json'],
  async run(input) {
    const items = await withKeys(input, false, (keys) => keys.list(workspaceOf(input)).items);
    if (input.values.json) for (const key of items) sayJson(key);
    else if (items.length === 0) noteNone(workspaceOf(input));
    else printTable(items);
    return EXIT.done;
  },
});

const rotate = defineCommand({
  name: 'keys rotate',
  operands: ['ID'],
  about:
    'Gives a key a new secret and prints it, once. The key keeps its id, its settings and what it has spent.',
  flags: {
    overlap: {
      type: 'string',
      value: 'TIME',
      help: 'How long the old secret still works, as in 90s, 15m, 24h, 7d; not at all by default.',
    },
    ...COMMON,
  },
  examples: ['parley keys rotate ID --overlap 24h'],
  async run(input) {
    const { values, operands } = input;
    const overlapSeconds = values.overlap === undefined ? 0 : seconds('--overlap', values.overlap);
    const made = await withKeys(input, false, (keys) => {
      needOurPepper(keys);
      return keys.rotate(workspaceOf(input), String(operands[0]), { overlapSeconds }, ACTOR);
    });
    const { overlapEndsAt } = made.key;
    const until =
      overlapEndsAt === undefined ? 'works no more' : `works until ${timeOf(overlapEndsAt)}`;
    printMade(made, values.json, `This is the only time that it is shown. The old one ${until}.`);
    return EXIT.done;
  },
});

const revoke = defineCommand({
  name: 'keys revoke',
  operands: ['ID'],
  about: 'Withdraws a key for good: the next request with it is refused.',
  flags: COMMON,
  examples: ['parley keys revoke ID'],
  async run(input) {
    const { values, operands } = input;
    // Whoever is here can make another one, so that nobody is locked out by the last one.
    const key = await withKeys(input, false, (keys) =>
      keys.revoke(workspaceOf(input), String(operands[0]), { force: true }, ACTOR),
    );
    if (values.json) sayJson({ key });
    else say(`${key.id} (${word(key.name)}) is revoked`);
    return EXIT.done;
  },
});

const ACTIONS: Readonly<Record<string, readonly [Command, string, string]>> = {
  create: [create, '', 'Make a key'],
  list: [list, '', 'List the keys of a workspace'],
  rotate: [rotate, 'ID', 'Give a key a new secret'],
  revoke: [revoke, 'ID', 'Withdraw a key'],
};

const keys: Command = async (args, environment) => {
  const [action, ...rest] = args;
  if (action === '--help' || action === '-h') {
    process.stdout.write(help());
    return EXIT.done;
  }
  const names = Object.keys(ACTIONS);
  if (action === undefined || action.startsWith('-')) {
    throw usageError(`parley keys needs what to do: ${names.join(', ')}; see parley keys --help`);
  }
  const entry = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (!entry) {
    const [near] = nearestNames(action, names);
    const hint = near === undefined ? '' : `did you mean parley keys ${near}? `;
    throw usageError(`unknown action "${action}": ${hint}parley keys --help lists them`);
  }
  return entry[0](rest, environment);
};
export default keys;

function help(): string {
  const rows = Object.entries(ACTIONS).map(
    ([name, [, operands, about]]) =>
      `  ${`parley keys ${name} ${operands}`.trimEnd().padEnd(24)}  ${dim(about)}`,
  );
  return [
    `${bold('parley keys')} ACTION [flags]`,
    '',
    'Makes, lists and withdraws the keys of a gateway, on the machine where it keeps its data. The gateway may be running.',
    '',
    bold('Actions'),
    ...rows,
    '',
    bold('Examples'),
    '  parley keys create --name ci --expires 90d',
    '  parley keys list',
    '',
    dim('parley keys ACTION --help shows the flags of an action.'),
    '',
  ].join('\n');
}

/** Opens the register beside the store, and says in one line what went wrong. */
async function withKeys<Result>(
  input: Place,
  make: boolean,
  work: (keys: Keys) => Result,
): Promise<Result> {
  const { values, environment } = input;
  const flags = { store: values.store, durability: undefined };
  const place = await storeLocation(flags, environment, 'gateway');
  if (place.kind === 'memory') {
    throw usageError(
      'the keys of a gateway in memory are its own: use its API (/a2a/keys), or --store sqlite:PATH',
    );
  }
  const path = registerPath(place.file);
  if (!make && !existsSync(path)) {
    throw usageError(
      `there is no gateway at ${path}: name its store with --store, or start with parley keys create`,
    );
  }
  const logger = createLog(environment);
  try {
    const register = openRegister(path, logger);
    try {
      const secretKey = environment['PARLEY_SECRET_KEY'];
      const pepper = openPepper({ register, path, secretKey });
      return work(createKeys({ register, audit: createAudit({ register }), pepper, logger }));
    } finally {
      register.close();
    }
  } catch (error) {
    if (error instanceof StoreError) {
      const hint = error.hint === undefined ? '' : `: ${error.hint.replace(/\.$/, '')}`;
      throw usageError(`${error.message}${hint}`, { cause: error });
    }
    if (error instanceof A2AError) throw refused(error);
    throw error;
  } finally {
    await logger.flush();
  }
}

/** The flags whose values only the gateway's own schemas judge, by their fields. */
const FLAG_OF: Readonly<Record<string, string>> = {
  workspace: '--workspace',
  name: '--name',
  scopes: '--scope',
  expiresAt: '--expires',
  'budget.amount': '--budget-amount',
  'budget.currency': '--budget-currency',
  overlapSeconds: '--overlap',
};

function refused(error: A2AError): ExitError {
  const line = word(error.message);
  switch (error.kind) {
    case 'invalidParams': {
      const flagged = line.replace(/^([\w.]+?)(?:\.\d+)?: /, (start, field: string) => {
        const flag = FLAG_OF[field];
        return flag === undefined ? start : `${flag}: `;
      });
      return usageError(flagged, { cause: error });
    }
    case 'notFound':
      return new ExitError(EXIT.failed, `${line} in this workspace: parley keys list shows them`);
    default:
      return new ExitError(EXIT.failed, line, { cause: error });
  }
}

/** A key that is made under another pepper than the gateway's would never match, and nothing would say why. */
function needOurPepper(keys: Keys): void {
  const count = keys.unusable();
  if (count === 0) return;
  throw usageError(
    `${unusableKeys(count)}: set it as the gateway has it, or revoke what parley keys list shows as unusable`,
  );
}

function printMade({ key, secret }: MadeKey, json: boolean, remark: string): void {
  if (json) {
    sayJson({ key, secret });
    return;
  }
  say(secret);
  note(`Key ${key.id} (${word(key.name)}) of workspace ${key.workspaceId}. ${remark}`);
  note(
    `Use it as a header, "Authorization: Bearer ${key.prefix}_…" or "x-api-key: ${key.prefix}_…".`,
  );
}

function noteNone(workspace: string): void {
  const flag = workspace === DEFAULT_WORKSPACE ? '' : ` --workspace ${quoted(workspace)}`;
  note(
    `There are no keys in the workspace ${word(workspace)}: parley keys create --name NAME${flag} makes one.`,
  );
}

function printTable(items: readonly Key[]): void {
  const head = ['ID', 'KEY', 'STATUS', 'EXPIRES', 'LAST USED', 'SCOPES', 'NAME'];
  const rows = items.map((key) => [
    key.id,
    `${key.prefix}_…`,
    key.status,
    timeOf(key.expiresAt),
    timeOf(key.lastUsedAt),
    key.scopes.join(' '),
    word(key.name),
  ]);
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  say(dim(line(head)));
  const paint = { active: green, expired: yellow, revoked: dim, unusable: red };
  items.forEach(({ status }, at) => {
    say(line(rows[at] ?? []).replace(` ${status} `, ` ${paint[status](status)} `));
  });
}

interface BudgetFlags {
  readonly 'budget-tokens': string | undefined;
  readonly 'budget-amount': string | undefined;
  readonly 'budget-currency': string | undefined;
  readonly 'budget-period': string | undefined;
}

function budgetOf(values: BudgetFlags): Budget | undefined {
  const { 'budget-tokens': tokens, 'budget-amount': amount } = values;
  const { 'budget-currency': currency = 'USD', 'budget-period': named = 'month' } = values;
  if (tokens === undefined && amount === undefined) {
    const stray = (['budget-currency', 'budget-period'] as const).find((flag) => values[flag]);
    if (stray) throw usageError(`--${stray} needs --budget-tokens or --budget-amount`);
    return undefined;
  }
  const period = PERIODS.find((known) => known === named);
  if (!period) throw usageError(`--budget-period ${named}: use ${PERIODS.join(', ')}`);
  return {
    ...(tokens !== undefined && {
      tokens: wholeNumber('--budget-tokens', tokens, { min: 1, max: 1e12 }),
    }),
    ...(amount !== undefined && { amount: money(amount), currency }),
    period,
  };
}

function money(text: string): number {
  const amount = /^\d{1,7}(\.\d{1,9})?$/.test(text) ? Number(text) : 0;
  if (amount > 0) return amount;
  throw usageError(`--budget-amount ${text}: an amount such as 20 or 7.50 is needed`);
}

/** `30d`, or a time with its zone. */
function expiry(text: string): string {
  const [, days] = /^(\d{1,4})d$/.exec(text) ?? [];
  if (days !== undefined) {
    const count = wholeNumber('--expires', days, { min: 1, max: MAX_EXPIRY_DAYS });
    return new Date(Date.now() + count * DAY_MS).toISOString();
  }
  const time = /^\d{4}-\d\d-\d\d(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw usageError(
      `--expires ${text}: use days, as in 30d, or a time, as in 2027-01-31T00:00:00Z`,
    );
  }
  return new Date(time).toISOString();
}

function seconds(flag: string, text: string): number {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const factor = UNITS[unit ?? ''];
  if (count === undefined || factor === undefined) {
    throw usageError(`${flag} ${text}: a time such as 90s, 15m, 24h or 7d is needed`);
  }
  return Number(count) * factor;
}
