/**
 * Helpers from Markdown files. A file gives a helper a description, instructions, and optionally a list of tools and a
 * model.
 *
 *   ~/.config/parley/helpers/reviewer.md
 *   WORKSPACE/.parley/helpers/reviewer.md       (only when the workspace is trusted)
 *
 *   ---
 *   name: reviewer
 *   description: Reviews a change and reports problems.
 *   tools: read_file, search, git__*
 *   model: anthropic:claude-haiku-4-5
 *   ---
 *   You review changes. Look for …
 *
 * A helper with `url` is a remote A2A agent. `key` is the name of the environment variable with its bearer token.
 */
import { cutText, oneLine } from '../../base/index.ts';
import { DEFAULT_HELPER, problemOf, SEARCH_TOOL, TASK_TOOL } from '../approval/policy.ts';
import { FileError } from '../files/file-error.ts';
import { listIn, parseFrontMatter } from '../files/front-matter.ts';
import { readOwnFiles, type OwnFile, type OwnPlace } from '../files/own-files.ts';

export interface LocalHelper extends CommonHelper {
  readonly kind: 'local';
  /** The text of the file, which is added to the instruction. */
  readonly text: string;
  /** Patterns for the names of the helper's tools, or undefined for all tools that a helper can have. */
  readonly tools: readonly string[] | undefined;
  /** The name of the helper's model, or undefined for the model of the session. */
  readonly model: string | undefined;
}

export interface RemoteHelper extends CommonHelper {
  readonly kind: 'remote';
  readonly url: string;
  /** The name of the environment variable with the bearer token. */
  readonly key: string | undefined;
}

interface CommonHelper {
  readonly name: string;
  readonly description: string;
  readonly source: OwnFile['source'];
}

export type HelperDefinition = LocalHelper | RemoteHelper;

export interface Helpers {
  /** The helpers by name. */
  readonly helpers: ReadonlyMap<string, HelperDefinition>;
  /** One line for each file that was ignored, with the reason. */
  readonly problems: readonly string[];
}

const FILES = { folder: 'helpers', what: 'helper', depth: 1, max: 50 } as const;
const FIELDS = ['name', 'description', 'tools', 'model', 'url', 'key'];
const NAME = /^[A-Za-z0-9][\w-]{0,63}$/;
/** Reserved names: the name of the helper without a file, and the name of the agent itself. */
const RESERVED: ReadonlySet<string> = new Set([DEFAULT_HELPER, 'coder']);
const MAX_DESCRIPTION = 500;
const MAX_TOOLS = 100;

export async function loadHelpers(place: OwnPlace): Promise<Helpers> {
  const { found, problems } = await readOwnFiles(place, FILES, parseHelper);
  // The name in the header may differ from the name of the file. If several files have the same name in their headers,
  // the last file in `found` is used.
  return { helpers: new Map([...found.values()].map((each) => [each.name, each])), problems };
}

/** Reads the file of a helper. Throws if a field is missing, unknown or invalid. */
export function parseHelper({ names, source, file, text }: OwnFile): HelperDefinition {
  const { fields, body } = parseFrontMatter(text);
  const refuse = (problem: string): never => {
    throw new FileError('failed', `${file}: ${problem}`);
  };
  // A misspelt field is an error. A helper with "tool: read_file" would otherwise get all tools.
  for (const field of fields.keys()) {
    if (!FIELDS.includes(field)) {
      refuse(`unknown field "${field}"; the fields are ${FIELDS.join(', ')}`);
    }
  }
  const textOf = (field: string): string | undefined => fields.get(field)?.text || undefined;
  const name = textOf('name') ?? names[0] ?? '';
  if (!NAME.test(name))
    refuse('name: use up to 64 letters, digits, "_" and "-", and begin with a letter or a digit');
  if (RESERVED.has(name)) refuse(`name: "${name}" is reserved; use another name`);
  const description = cutText(oneLine(textOf('description') ?? ''), MAX_DESCRIPTION);
  if (description === '') refuse('description is missing: say when the helper is useful');
  const common = { name, description, source };

  const url = textOf('url');
  const key = textOf('key');
  if (url !== undefined) {
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
      refuse('url: must be an address that starts with https:// or http://');
    }
    if (key !== undefined && !/^[A-Za-z_]\w{0,127}$/.test(key)) {
      refuse('key: must be the name of an environment variable, not the key itself');
    }
    // A repository must not choose an address to which a key of the user is sent.
    if (key !== undefined && source === 'workspace') {
      refuse('key: only a helper in your own configuration folder may have a key');
    }
    const local = ['tools', 'model'].find((field) => fields.has(field));
    if (local !== undefined) refuse(`${local}: a remote helper (url) has its own ${local}`);
    return { ...common, kind: 'remote', url, key };
  }
  if (key !== undefined) refuse('key: only a remote helper (url) has a key');
  if (body === '') refuse('the text after the header is missing: say what the helper does');
  const model = textOf('model');
  return {
    ...common,
    kind: 'local',
    text: body,
    tools: fields.has('tools') ? listIn(fields.get('tools')).map(checked) : undefined,
    model: model === 'inherit' ? undefined : model,
  };

  function checked(tool: string, index: number): string {
    if (tool === TASK_TOOL) refuse('tools: a helper cannot call other helpers, so remove "task"');
    if (tool === SEARCH_TOOL) refuse('tools: a helper cannot search the web; remove "web_search"');
    if (index >= MAX_TOOLS) refuse(`tools: more than ${MAX_TOOLS}`);
    const problem = problemOf({ tool, decision: 'allow' });
    if (problem !== undefined) refuse(`tools: ${problem}`);
    return tool;
  }
}
