/** skill: reads the instructions of a skill, or another file in its folder. */
import { opendir } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { systemCode } from '../../base/index.ts';
import { ToolError } from '../../agent/index.ts';
import { FileError } from '../files/file-error.ts';
import { checkPath } from '../files/path-rules.ts';
import { readBounded, type BoundedRead } from '../files/read-bounded.ts';
import { binaryKind } from '../files/text.ts';
import { defineTool, respond } from '../tools/define-tool.ts';
import type { CoderTool } from '../tools/tool.ts';
import { SKILL_FILE, type Skills } from './skills.ts';

export const SKILL_TOOL = 'skill';
const MAX_BYTES = 64 * 1024;
const MAX_LISTED = 100;
const MAX_DEPTH = 4;

const Arguments = z.strictObject({
  name: z.string().min(1).max(64).describe('The name of the skill.'),
  file: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .describe(
      "Another file of the skill, relative to its folder. Default: the skill's instructions.",
    ),
});

export function skillTool(skills: Skills['skills']): CoderTool {
  return defineTool({
    name: SKILL_TOOL,
    description:
      'Reads the instructions of a skill and lists its other files. With "file", reads that file instead. Text only, up to 64 KB.',
    input: Arguments,
    effect: 'read',
    describe: ({ name, file }) => `Read the skill ${name}${file === undefined ? '' : `: ${file}`}`,
    async run({ name, file = SKILL_FILE }, context, _preview, shows) {
      const skill = skills.get(name);
      if (!skill) {
        const known = [...skills.keys()].join(', ') || 'none';
        throw new ToolError('not_found', `there is no skill ${name}; the skills are: ${known}`);
      }
      const read = await open(skill.folder, file, context.signal);
      if (shows?.(read.path) === false) {
        throw new ToolError('denied', `not allowed: a rule protects ${file}`);
      }
      const kind = binaryKind(read.bytes);
      if (kind !== undefined) {
        throw new ToolError('invalid_arguments', `${file} is not text (${kind})`);
      }
      const text = read.bytes.toString('utf8');
      const cut = read.size > read.bytes.length ? '\n[the file is longer; this is its start]' : '';
      if (file !== SKILL_FILE) return respond(`${text}${cut}`, text);
      const files = await filesIn(skill.folder);
      const others = files.length === 0 ? '' : `\n\nOther files of the skill:\n${files.join('\n')}`;
      return respond(`Folder: ${skill.folder}\n\n${text}${cut}${others}`, text);
    },
  });
}

async function open(folder: string, file: string, signal: AbortSignal): Promise<BoundedRead> {
  try {
    checkPath(file);
    return await readBounded(path.resolve(folder, file), MAX_BYTES, { within: folder, signal });
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof FileError ? error.code : systemCode(error);
    if (code === 'outside' || code === 'bad-path') {
      throw new ToolError('denied', `${file} is not in the folder of the skill`, { cause: error });
    }
    throw new ToolError('not_found', `the skill has no file ${file}`, { cause: error });
  }
}

/** Returns the other files of a skill, at most MAX_LISTED, relative to its folder. Links are not listed. */
async function filesIn(root: string): Promise<string[]> {
  const files: string[] = [];
  const walk = async (folder: string, depth: number): Promise<void> => {
    for await (const entry of await opendir(folder)) {
      if (files.length >= MAX_LISTED) return;
      const file = path.join(folder, entry.name);
      if (entry.isDirectory() && depth < MAX_DEPTH) await walk(file, depth + 1);
      else if (entry.isFile()) files.push(path.relative(root, file));
    }
  };
  await walk(root, 1).catch(() => undefined);
  return files.filter((file) => file !== SKILL_FILE).toSorted();
}
