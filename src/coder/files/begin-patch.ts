/**
 * The `*** Begin Patch` format:
 *
 *   *** Begin Patch
 *   *** Add File: PATH           then lines that start with +
 *   *** Update File: PATH        then optionally *** Move to: PATH, then hunks
 *   *** Delete File: PATH
 *   *** End Patch
 *
 * A hunk starts with one or more lines `@@`. After `@@` there may be a line of the file that precedes the hunk (an
 * anchor). The first hunk needs no `@@`. The other lines of a hunk start with a space, - or +. An empty line counts as
 * an unchanged empty line. `*** End of File` marks a hunk at the end of the file.
 */
import { badPatch, hunkLine, type FilePatch, type Hunk, type HunkLine } from './patch.ts';

const HEADER = /^\*\*\* (Add|Update|Delete) File: (.+)$/;

export function parseBeginPatch(all: readonly string[]): FilePatch[] {
  const begin = all.findIndex((line) => line.trimEnd() === '*** Begin Patch');
  const end = all.findLastIndex((line) => line.trimEnd() === '*** End Patch');
  if (end < begin) throw badPatch('has no *** End Patch, so it may be incomplete');
  const lines = all.slice(begin + 1, end);
  const files: FilePatch[] = [];
  let at = 0;
  while (at < lines.length) {
    const header = HEADER.exec((lines[at] ?? '').trimEnd());
    if (header === null) {
      if ((lines[at] ?? '').trim() === '') {
        at += 1;
        continue;
      }
      throw badPatch(
        `has a line where *** Add File, *** Update File or *** Delete File is expected: ${JSON.stringify(lines[at])}`,
      );
    }
    let next = at + 1;
    while (next < lines.length && !HEADER.test((lines[next] ?? '').trimEnd())) next += 1;
    const body = lines.slice(at + 1, next);
    files.push(parseFile(header[1] ?? '', (header[2] ?? '').trim(), body));
    at = next;
  }
  return files;
}

function parseFile(verb: string, path: string, body: string[]): FilePatch {
  while (body.at(-1)?.trim() === '') body.pop();
  if (verb === 'Delete') {
    if (body.length > 0) throw badPatch(`has lines after *** Delete File: ${path}`);
    return { kind: 'delete', path, hunks: [] };
  }
  if (verb === 'Add') return { kind: 'add', path, hunks: addedFile(path, body) };
  const move = /^\*\*\* Move to: (.+)$/.exec((body[0] ?? '').trimEnd())?.[1]?.trim();
  const hunks = parseHunks(path, move === undefined ? body : body.slice(1));
  if (hunks.length === 0 && move === undefined) throw badPatch(`changes nothing in ${path}`);
  return { kind: 'update', path, ...(move !== undefined && { moveTo: move }), hunks };
}

function addedFile(path: string, body: readonly string[]): Hunk[] {
  const lines = body.map((line): HunkLine => {
    if (!line.startsWith('+')) {
      throw badPatch(`has a line without + in the new file ${path}: ${JSON.stringify(line)}`);
    }
    return { kind: 'add', text: line.slice(1) };
  });
  return lines.length === 0 ? [] : [{ name: 'the new file', lines, after: 0, newlineAtEnd: true }];
}

function parseHunks(path: string, body: readonly string[]): Hunk[] {
  const hunks: Hunk[] = [];
  let anchors: string[] = [];
  let lines: HunkLine[] = [];
  let atEnd = false;
  const close = (): void => {
    if (lines.length > 0) {
      const anchor = anchors.at(-1);
      const name = `hunk ${hunks.length + 1}${anchor === undefined ? '' : ` (@@ ${anchor})`}`;
      hunks.push({
        name,
        lines,
        ...(anchors.length > 0 && { anchors }),
        ...(atEnd && { atEnd }),
      });
      anchors = [];
    }
    lines = [];
    atEnd = false;
  };
  for (const line of body) {
    const parsed = hunkLine(line);
    if (line === '@@' || line.startsWith('@@ ')) {
      close();
      const anchor = line.slice(2).trim();
      if (anchor !== '') anchors.push(anchor);
    } else if (line.trimEnd() === '*** End of File') {
      atEnd = true;
      close();
    } else if (parsed !== undefined) {
      lines.push(parsed);
    } else {
      throw badPatch(
        `has a line in ${path} that does not start with a space, -, + or @@: ${JSON.stringify(line)}`,
      );
    }
  }
  close();
  return hunks;
}
