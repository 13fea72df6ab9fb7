/** A table that scrolls, also with the keyboard, if it is wider than the screen. */
import type { ComponentChildren } from 'preact';

interface Props {
  readonly label: string;
  readonly columns: readonly string[];
  /** The rows. */
  readonly children: ComponentChildren;
  readonly foot?: ComponentChildren;
}

export function WideTable({ label, columns, children, foot }: Props) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={label}>
      <table class="numbers">
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot === undefined ? null : <tfoot>{foot}</tfoot>}
      </table>
    </div>
  );
}
