/**
 * Splits a Markdown text that is still being streamed. Returns the finished blocks, which later text cannot change, and
 * the unfinished rest.
 *
 * Only complete lines are used, and no decision depends on later lines. So the result does not depend on how the text
 * is divided into chunks. A fenced code block that is not indented is one block. A list is also one block.
 */
const FENCE = /^( {0,3})(`{3,}|~{3,})/;
const LIST_ITEM = /^(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;

/** Returns the finished blocks, and the unfinished block. */
export function splitBlocks(text: string) {
  const done: string[] = [];
  let start = 0;
  let blank = false;
  let fence: { readonly sign: string; readonly indent: number } | undefined;
  const cutAt = (end: number): void => {
    const block = text
      .slice(start, end)
      .replace(/^(?:[^\S\n]*\n)+/, '')
      .trimEnd();
    if (block !== '') done.push(block);
    start = end;
  };
  for (let at = 0; ;) {
    const end = text.indexOf('\n', at);
    if (end < 0) break;
    const line = text.slice(at, end);
    const mark = FENCE.exec(line);
    const sign = mark?.[2];
    if (fence) {
      const closes = sign !== undefined && sign.startsWith(fence.sign) && line.trim() === sign;
      if (closes) {
        if (fence.indent === 0) cutAt(end + 1);
        fence = undefined;
        blank = false;
      }
    } else if (line.trim() === '') {
      blank = true;
    } else {
      const inList = LIST_ITEM.test(text.slice(start).trimStart());
      const goesOn = /^\s/.test(line) || (inList && LIST_ITEM.test(line));
      if (blank && !goesOn) cutAt(at);
      blank = false;
      if (sign !== undefined) {
        const indent = mark?.[1]?.length ?? 0;
        if (indent === 0) cutAt(at);
        fence = { sign, indent };
      }
    }
    at = end + 1;
  }
  return { done, rest: text.slice(start) };
}
