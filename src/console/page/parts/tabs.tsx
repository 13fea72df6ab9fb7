/** The links to the views of a page. */
interface TabsProps<T extends string> {
  readonly label: string;
  readonly titles: Readonly<Record<T, string>>;
  readonly current: T | undefined;
  readonly hrefFor: (view: T) => string;
  /** Returns the number beside a title, or an empty text for none. */
  readonly countOf?: (view: T) => string;
}

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
