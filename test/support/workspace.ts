/** A workspace on the disk with something secret beside it, and the tools that work in it. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JsonObject } from '../../src/base/index.ts';
import type { TestContext } from 'node:test';
import { RichResponse, type ToolContext } from '../../src/agent/tool.ts';
import type { CoderTool } from '../../src/coder/tools/tool.ts';
import { openWorkspace, type Workspace } from '../../src/coder/files/workspace.ts';
import { toolContext } from './tool-context.ts';

export const SECRET = 'the secret outside';

export interface TestWorkspace {
  readonly workspace: Workspace;
  /** The folder that the root and the outside are in. */
  readonly base: string;
  readonly root: string;
  /** A folder with `secret.txt` in it. */
  readonly outside: string;
  /** The absolute path of a name in the workspace. */
  readonly at: (name: string) => string;
}

export async function makeWorkspace(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>> = {},
  options: { readonly pin?: boolean } = {},
): Promise<TestWorkspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'parley-workspace-')));
  t.after(() => rm(base, { recursive: true, force: true }));
  const root = join(base, 'root');
  const outside = join(base, 'outside');
  await mkdir(root);
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), `${SECRET}\n`);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
  const workspace = await openWorkspace([root], options);
  return { workspace, base, root, outside, at: (name) => join(root, name) };
}

/** Calls a tool as an agent does, and returns what the model is told. */
export async function call(
  tool: CoderTool,
  args: JsonObject,
  context: Partial<ToolContext> = {},
): Promise<string> {
  const { response } = await callRich(tool, args, context);
  if (typeof response !== 'string') throw new TypeError('the tool did not answer with a text');
  return response;
}

export async function callRich(
  tool: CoderTool,
  args: JsonObject,
  context: Partial<ToolContext> = {},
): Promise<RichResponse> {
  const result = await tool.run(tool.parse?.(args) ?? args, toolContext(context));
  if (result instanceof RichResponse) return result;
  throw new TypeError('the tool did not return a rich response');
}
