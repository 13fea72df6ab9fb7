/**
 * The gateway's configuration: one JSON file with comments. The schemas of most sections are in other folders of the
 * gateway. In strings, `${NAME}` is replaced by the environment variable NAME, and `$${` stands for the characters
 * `${`.
 *
 *   const { config, warnings } = await loadConfig('gateway.json', process.env);
 *
 * All problems (at most 200) are reported together, one line each: `gateway.json:12: providers.east.type: …`.
 */
import { constants, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import * as z from 'zod';
import { isUnix } from '../base/system/index.ts';
import { isObject, MAX_TIMER_MS, systemCode } from '../base/index.ts';
import {
  type Jsonc,
  JsoncError,
  parseJsonc,
  type JsoncProblem,
  problemAt,
  problemsIn,
} from '../base/jsonc/index.ts';
import { ModelError } from '../agent/index.ts';
import { serverOf } from '../agent/internal/index.ts';
import { AgentHealthSeconds, AgentsConfig } from './agents/config.ts';
import { KeysConfig } from './auth/config.ts';
import { BudgetsConfig } from './budgets/config.ts';
import {
  DefaultModel,
  ModelDeadlineSeconds,
  ModelsConfig,
  ProviderConfig,
  ProvidersConfig,
} from './models/config.ts';
import { withImplied } from './models/implied.ts';
import { type CheckedSettings, routesOf, surprisesIn } from './surprises.ts';
import { TasksConfig } from './tasks/config.ts';
import { integer } from './api/fields.ts';
import { WebAddress } from './api/web-address.ts';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Maximum number of problems in an error message. */
const MAX_PROBLEMS = 200;
/** Maximum number of known names in an error about an unknown name. */
const MAX_NAMES = 10;

const count = integer(1, 1_000_000);
const milliseconds = integer(1, MAX_TIMER_MS);
const bytes = z.int().min(1024 * 1024);

const Limits = z
  .strictObject({
    maxBodyBytes: integer(1024, 2 ** 30).describe('Maximum size of a request. Default: 10 MB'),
    maxRunning: count.describe(
      'Maximum number of concurrent executions. Further requests get 503. One workspace can have at most three quarters of them, and fewer while other workspaces have some. Default: 20000',
    ),
    maxStreams: count.describe('Maximum number of open streams. Default: 50000'),
    maxStreamsPerClient: count.describe(
      'Maximum number of open streams of one workspace. Default: 20000',
    ),
    maxPendingBytes: bytes.describe(
      'Maximum number of bytes in transit: of requests that are being received, and of answers that clients have not read. Further requests get 503. Default: 512 MB',
    ),
    maxPendingBytesPerClient: bytes.describe(
      'The same as maxPendingBytes, for one workspace. Further requests get 429. Default: a quarter of maxPendingBytes',
    ),
    requestTimeoutMs: milliseconds.describe('Timeout for receiving a request. Default: 60 seconds'),
    stallMs: milliseconds.describe(
      'A client that does not read for this time is disconnected. Default: 60 seconds',
    ),
    heartbeatMs: milliseconds.describe(
      'Interval of keep-alive comments on a stream. Default: 15 seconds',
    ),
  })
  .partial()
  .describe('Limits for the size, number and duration of requests');

const Telemetry = z
  .strictObject({
    endpoint: WebAddress.optional().describe(
      'The address of an OTLP/HTTP collector. /v1/traces is appended',
    ),
    headers: z
      .record(z.string().min(1).max(128), z.string().max(8192))
      .optional()
      .describe('Headers for the collector, usually credentials'),
    serviceName: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe('The service name in traces. Default: parley-gateway'),
  })
  .describe("Tracing. Without an endpoint, OpenTelemetry's environment variables are used");

const Origin = z
  .string()
  .max(2048)
  .refine(
    (text) => text === '*' || URL.parse(text)?.origin === text,
    'must be an origin such as https://app.example, without a path, or *',
  );

export const GatewayConfig = z.strictObject({
  $schema: z.string().optional().describe('The address of this schema'),
  keys: KeysConfig.optional().describe(
    'Authentication with JWTs, and the default rate limit. API keys are not in this file: create them with parley keys or with the API',
  ),
  providers: ProvidersConfig.optional(),
  models: ModelsConfig.optional(),
  defaultModel: DefaultModel.optional(),
  modelDeadlineSeconds: ModelDeadlineSeconds.optional(),
  budgets: BudgetsConfig.optional(),
  agents: AgentsConfig.optional(),
  agentHealthSeconds: AgentHealthSeconds.optional(),
  tasks: TasksConfig.optional().describe('Expiry and retention of tasks'),
  limits: Limits.optional(),
  cors: z
    .array(Origin)
    .max(64)
    .optional()
    .describe('Origins of web pages that may call the gateway. Default: none'),
  telemetry: Telemetry.optional(),
  drainSeconds: z
    .number()
    .min(0)
    .max(3600)
    .optional()
    .describe('How long running tasks may continue after SIGTERM or SIGINT. Default: 10'),
});
export type GatewayConfig = Readonly<z.infer<typeof GatewayConfig>>;

/** Fields that take effect only after a restart. Other fields take effect when the file is reloaded. */
export const FIXED_FIELDS = [
  'limits',
  'cors',
  'telemetry',
] as const satisfies readonly (keyof GatewayConfig)[];

export interface LoadedConfig {
  readonly config: GatewayConfig;
  /** Problems that do not prevent the start. */
  readonly warnings: readonly string[];
  /**
   * Messages about settings that probably do not do what the operator expects. Each message begins with the file and
   * the line number.
   */
  readonly surprises: readonly string[];
  /** The environment variables that the file uses. */
  readonly variables: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Thrown if the configuration is invalid. Each problem is one line, usually with the file, the line number and the
 * field.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  /** The warnings and surprises in the valid parts of the file, as in LoadedConfig. */
  readonly warnings: readonly string[];

  constructor(
    problems: readonly string[],
    { warnings = [], ...options }: ErrorOptions & { readonly warnings?: readonly string[] } = {},
  ) {
    super(problems.join('\n'), options);
    this.problems = problems;
    this.warnings = warnings;
  }
}

/** Returns the JSON Schema (2020-12) that is published with the package. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    title: "Configuration of Parley's gateway",
    description: 'The file for parley gateway --config: JSON with comments',
    ...z.toJSONSchema(GatewayConfig, { io: 'input' }),
  };
}

/**
 * Reads the configuration file. Throws a ConfigError if it cannot be read or is invalid. `again` is true if the file is
 * reloaded while the gateway serves requests. In this case the file must be a regular file, because reading a pipe
 * could block.
 */
export async function loadConfig(
  file: string,
  environment: Environment,
  { again = false }: { readonly again?: boolean } = {},
): Promise<LoadedConfig> {
  const { text, mode } = await read(file, again);
  const isExposed = isUnix && (mode & 0o077) !== 0;
  return parseConfig(file, text, environment, isExposed);
}

/**
 * Parses the configuration. Throws a ConfigError if it is invalid. `isExposed` is true if the group or other users have
 * access to the file.
 */
export function parseConfig(
  file: string,
  text: string,
  environment: Environment,
  isExposed = false,
): LoadedConfig {
  const json = parsed(file, text);
  const problems: JsoncProblem[] = [];
  const used = new Set<string>();
  let secrets = false;
  const value = mapStrings(json.value, [], (written, path) => {
    secrets ||= isSecret(path, written);
    return substitute(written, environment, used, (problem) =>
      problems.push(problemAt(json, path, problem)),
    );
  });
  const result = GatewayConfig.safeParse(value);
  // A field that uses an unknown environment variable has already been reported, so its other errors are left out.
  const fields = new Set(problems.map(({ field }) => field));
  const invalid = result.success ? [] : problemsIn(json, result.error);
  const usable = result.success ? { ...result.data, isWhole: true } : readable(value);
  const others = [
    ...invalid.filter(({ field }) => !fields.has(field)),
    ...unknownReferences(json, usable, environment),
  ];
  const warnings = keyless(file, usable, environment);
  // Only secrets that the file itself contains matter here, not references to environment variables.
  if (secrets && isExposed) {
    warnings.unshift(
      `${file}: contains secrets and is readable by other users: run chmod 600 ${file}, or write \${NAME} and set the environment variable`,
    );
  }
  const found = surprisesIn(usable, environment);
  const surprises = described(
    file,
    found.map(({ path, text: problem }) => problemAt(json, path, problem)),
  );
  const all = [...problems, ...others].toSorted((one, other) => one.line - other.line);
  if (!result.success || all.length > 0) {
    throw new ConfigError(described(file, all), { warnings: [...warnings, ...surprises] });
  }
  return { config: result.data, warnings, surprises, variables: [...used] };
}

/** Returns warnings about providers that need an API key, but have none in the file or in the environment. */
function keyless(
  file: string,
  { providers = {} }: Pick<GatewayConfig, 'providers'>,
  environment: Environment,
): string[] {
  return Object.entries(providers).flatMap(([name, { type, apiKey, baseUrl }]) => {
    if (apiKey !== undefined || baseUrl !== undefined) return [];
    const server = serverOf(type, environment);
    if (!server || server.vendor.keyOptional || server.apiKey !== undefined) return [];
    return [`${file}: providers.${name} has no apiKey, and ${server.keyVariable} is not set`];
  });
}

/**
 * Returns the valid parts of an invalid configuration, so that references between these parts can be checked. Replaces
 * each invalid provider with an offline provider, so that references to the invalid provider are not reported as
 * errors.
 */
function readable(value: unknown): CheckedSettings {
  const entries = (section: string): [string, unknown][] => {
    const found = isObject(value) ? value[section] : undefined;
    return isObject(found) ? Object.entries(found) : [];
  };
  const stand = ProviderConfig.parse({ type: 'offline' });
  let isWhole = true;
  const providers = entries('providers').map(([name, each]) => {
    const { success, data } = ProviderConfig.safeParse(each);
    if (!success) isWhole = false;
    return [name, success ? data : stand] as const;
  });
  const models = entries('models').flatMap(([name, each]) => {
    const { success, data } = ModelsConfig.safeParse({ [name]: each });
    if (!success) isWhole = false;
    return success ? Object.entries(data) : [];
  });
  const others = isObject(value) ? value : {};
  return {
    providers: Object.fromEntries(providers),
    models: Object.fromEntries(models),
    defaultModel: DefaultModel.safeParse(others['defaultModel']).data,
    budgets: BudgetsConfig.safeParse(others['budgets']).data,
    keys: KeysConfig.safeParse(others['keys']).data,
    isWhole,
  };
}

/** Finds references to providers and files that do not exist. */
function unknownReferences(
  json: Jsonc,
  { models = {}, providers = {} }: Pick<GatewayConfig, 'providers' | 'models'>,
  environment: Environment,
): JsoncProblem[] {
  const found: JsoncProblem[] = [];
  const known = providersOf(providers, environment);
  const check = (provider: string, path: readonly PropertyKey[]) => {
    if (known.has(provider)) return;
    const names = [...known.keys()].slice(0, MAX_NAMES).join(', ');
    found.push(problemAt(json, path, `unknown provider "${provider}"; known providers: ${names}`));
  };
  for (const [name, { file }] of Object.entries(providers)) {
    if (file === undefined || existsSync(file)) continue;
    found.push(problemAt(json, ['providers', name, 'file'], 'no such file'));
  }
  for (const [name, model] of Object.entries(models)) {
    for (const { provider, path } of routesOf(name, model)) check(provider, [...path, 'provider']);
  }
  return found;
}

function providersOf(providers: ProvidersConfig, environment: Environment) {
  try {
    return withImplied(providers, environment);
  } catch (error) {
    // The cause is an environment variable, so the error has no line number.
    if (error instanceof ModelError) throw new ConfigError([error.message], { cause: error });
    throw error;
  }
}

function described(file: string, problems: readonly JsoncProblem[]): string[] {
  const lines = problems.slice(0, MAX_PROBLEMS).map(({ line, field, problem }) => {
    const where = field === '' ? '' : `${field}: `;
    return `${file}:${line}: ${where}${problem.replaceAll(/\s+/g, ' ')}`;
  });
  const more = problems.length - lines.length;
  return more > 0 ? [...lines, `${file}: and ${more} more`] : lines;
}

function parsed(file: string, text: string): Jsonc {
  try {
    return parseJsonc(text);
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new ConfigError([`${file}:${error.line}: ${error.message}`], { cause: error });
  }
}

function mapStrings(
  value: unknown,
  path: readonly PropertyKey[],
  change: (text: string, path: readonly PropertyKey[]) => string,
): unknown {
  if (typeof value === 'string') return change(value, path);
  if (Array.isArray(value)) return value.map((each, at) => mapStrings(each, [...path, at], change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, mapStrings(each, [...path, key], change)]),
  );
}

const VARIABLE = /\$(\$?)\{([^}]*)\}/g;

function substitute(
  text: string,
  environment: Environment,
  used: Set<string>,
  problem: (text: string) => void,
): string {
  return text.replaceAll(VARIABLE, (whole, escaped: string, name: string) => {
    if (escaped !== '') return whole.slice(1);
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      problem(`\${${name}} is not a valid variable name; to write the characters \${, use $\${`);
      return whole;
    }
    const value = environment[name];
    if (value === undefined) {
      problem(`the environment variable ${name} is not set`);
      return whole;
    }
    used.add(name);
    return value;
  });
}

const SECRET_FIELD = /key|token|secret|password|authorization|cookie|credential/i;

/**
 * Returns whether the text is probably a secret. The name of its field must suggest this, and the text must contain
 * more than references to environment variables.
 */
function isSecret(path: readonly PropertyKey[], text: string): boolean {
  if (!SECRET_FIELD.test(String(path.at(-1)))) return false;
  const own = text.replaceAll(/\$\{[^}]*\}/g, '').replace(/^(?:Bearer|Basic)\s*/i, '');
  return own.trim() !== '';
}

/**
 * Flags for opening the file when it is reloaded. Without O_NONBLOCK, opening a pipe would block a thread until there
 * is a writer, and the process could not exit.
 */
const NON_BLOCKING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

async function read(file: string, again: boolean): Promise<{ text: string; mode: number }> {
  try {
    await using handle = await open(file, again ? NON_BLOCKING : 'r');
    const stat = await handle.stat();
    if (again && !stat.isFile()) throw new ConfigError([`${file}: is no longer a regular file`]);
    return { text: await textOf(handle, file), mode: stat.mode };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = systemCode(error) ?? String(error);
    const why = code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`;
    throw new ConfigError([`${file}: ${why}`], { cause: error });
  }
}

/** Reads the file in chunks up to the maximum size, because the size of a pipe is not known in advance. */
async function textOf(handle: FileHandle, file: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const stream: AsyncIterable<Buffer> = handle.createReadStream({ autoClose: false });
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_FILE_BYTES) {
      throw new ConfigError([`${file}: the file is larger than ${MAX_FILE_BYTES} bytes`]);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}
