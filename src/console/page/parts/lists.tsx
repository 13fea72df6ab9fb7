/** The parts of pages with lists: filters, the links to the views, tables, and the button for earlier events. */
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { PageButton } from './controls.tsx';

interface ChoiceFieldProps {
  readonly label: string;
  /** The class of the element around the label and the field. */
  readonly box?: string;
  readonly value: string;
  /** The values, or pairs of a value and the words for it. */
  readonly options: readonly (string | readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
}

export function ChoiceField({ label, box, value, options, onChange }: ChoiceFieldProps) {
  const id = useId();
  return (
    <div class={box}>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map((each) => {
          const [name, words] = typeof each === 'string' ? [each, each] : each;
          return (
            <option key={name} value={name}>
              {words}
            </option>
          );
        })}
      </select>
    </div>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly type?: 'text' | 'date' | undefined;
  readonly onChange: (value: string) => void;
}

/** An input field. Its text becomes the filter when the person presses Enter or moves to another field. */
export function TextFilter({ label, value, type = 'text', onChange }: TextFilterProps) {
  const id = useId();
  // The page may be drawn again while the person types, so the text is kept here until it becomes a filter.
  const [typed, setTyped] = useState<string>();
  const shared = {
    id,
    value: typed ?? value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      setTyped(currentTarget.value),
    onChange: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
      setTyped(undefined);
      onChange(currentTarget.value.trim());
    },
  };
  return (
    <div>
      <label for={id}>{label}</label>
      {type === 'date' ? (
        <input type="date" {...shared} />
      ) : (
        <input type="text" placeholder="any" spellcheck={false} {...shared} />
      )}
    </div>
  );
}

interface ButtonProps {
  /** Whether a filter is set. If true, there is a button that clears the filters. */
  readonly isFiltered: boolean;
  readonly onClear: () => void;
  readonly onReload: () => void;
}

export function FilterButtons({ isFiltered, onClear, onReload }: ButtonProps) {
  return (
    <>
      {isFiltered ? <PageButton onClick={onClear}>Clear</PageButton> : null}
      <PageButton onClick={onReload}>Refresh</PageButton>
    </>
  );
}

interface TabsProps<T extends string> {
  readonly label: string;
  readonly titles: Readonly<Record<T, string>>;
  readonly current: T | undefined;
  readonly hrefFor: (view: T) => string;
  /** Returns the number beside a title, or an empty text if there is no number. */
  readonly countOf?: (view: T) => string;
}

/** The links to the views of a page. */
export function Tabs<T extends string>(props: TabsProps<T>) {
  const { label, titles, current, hrefFor, countOf = () => '' } = props;
  return (
    <nav class="tabs" aria-label={label}>
      {viewsOf(titles).map((view) => (
        <a key={view} href={hrefFor(view)} aria-current={view === current ? 'page' : undefined}>
          {titles[view]} {countOf(view) === '' ? null : <span class="count">{countOf(view)}</span>}
        </a>
      ))}
    </nav>
  );
}

/** Returns the names of the views, in the order of the tabs. */
export function viewsOf<T extends string>(titles: Readonly<Record<T, string>>): T[] {
  return Object.keys(titles) as T[];
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** The rows. */
  readonly children: ComponentChildren;
  readonly foot?: ComponentChildren;
}

/** A table that scrolls, also with the keyboard, if it is wider than the screen. */
export function WideTable({ label, columns, children, foot }: TableProps) {
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

interface EarlierProps {
  /** Maximum number of events that are drawn. */
  readonly shown: Signal<number>;
  /** Number of earlier events that are not drawn. */
  readonly left: number;
  /** Maximum number of events that the button adds. */
  readonly step: number;
}

/** A button that shows more of the earlier events in a list of the newest events. */
export function EarlierEvents({ shown, left, step }: EarlierProps) {
  if (left === 0) return null;
  return (
    <PageButton class="more" onClick={() => (shown.value += step)}>
      Show {Math.min(left, step)} earlier events ({left} left)
    </PageButton>
  );
}
