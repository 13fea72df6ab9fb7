/**
 * Draws a file or data of a message. A peer chooses the content, so the bytes of a file are never opened in the page.
 * The person can only save the file, and the page gives it a media type that no browser runs.
 */
import { useMemo } from 'preact/hooks';
import { cleanLine, type ShownPart } from '../../../display/index.ts';
import type { FilePart } from '../../../protocol/index.ts';
import { LongText, shownSize } from './lines.tsx';
import { SafeLink } from './markdown.tsx';
import { PageButton } from '../parts/controls.tsx';

const DATA_ROWS = 60;
/** Data with more rows than this is folded at first. */
const OPEN_ROWS = 12;
const MAX_NAME = 120;

export function PartView({ part, title }: { readonly part: ShownPart; readonly title: string }) {
  return part.kind === 'file' ? (
    <FileView file={part.file} title={title} />
  ) : (
    <DataView data={part.data} title={title} />
  );
}

interface FileProps {
  readonly file: FilePart['file'];
  readonly title: string;
}

function FileView({ file, title }: FileProps) {
  const { bytes, uri, mimeType } = file;
  // Four characters of Base64 are three bytes.
  const size =
    bytes === undefined ? '' : `, ${shownSize(Math.floor((bytes.length * 3) / 4), 'bytes')}`;
  return (
    <div class="part">
      <span>
        {cleanLine(title)}{' '}
        <span class="dim">
          {cleanLine(mimeType ?? 'unknown type')}
          {size}
        </span>
      </span>
      {bytes === undefined ? (
        <SafeLink href={uri ?? ''}>{cleanLine(uri ?? '')}</SafeLink>
      ) : (
        <PageButton onClick={() => save(bytes, fileNameOf(file))}>Save the file</PageButton>
      )}
    </div>
  );
}

function DataView({ data, title }: { readonly data: unknown; readonly title: string }) {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  const rows = text.split('\n', OPEN_ROWS + 1).length;
  return (
    <details class="output part-data" open={rows <= OPEN_ROWS}>
      <summary>{cleanLine(title)}</summary>
      <LongText text={text} first={DATA_ROWS} safe="reveal" />
    </details>
  );
}

/** Returns a name without folders, and without characters that file systems do not allow. */
function fileNameOf({ name = 'file' }: FilePart['file']): string {
  const last = cleanLine(name).split(/[/\\]/).at(-1) ?? '';
  const safe = last.replaceAll(/[<>:"|?*]/g, '_').replace(/^\.+/, '');
  return safe.slice(-MAX_NAME) || 'file';
}

function save(base64: string, name: string): void {
  const content = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
