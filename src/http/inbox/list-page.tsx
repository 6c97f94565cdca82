/** What waits, the most urgent first; and what has ended, the latest first. */
import type { FC } from 'hono/jsx';
import { z } from 'zod';
import type { ListQuery, Page } from '../../ports.ts';
import { isTerminal } from '../../record.ts';
import { id, text } from '../../schema/primitives.ts';
import { type ContinuationRecord, Scope, WaitType } from '../../schema.ts';
import { Notice, type Viewer } from './page.tsx';
import { oneLine, Time, Words } from './text.tsx';
import { statusWords, WAITS } from './words.ts';

const STATUSES = {
  open: 'Open',
  pending: 'Waits for an answer',
  resuming: 'Answered, not finished',
  uncertain: 'Outcome unknown',
  ended: 'Ended',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Denied or stopped',
  expired: 'Expired',
  superseded: 'Superseded',
} as const;
type Status = keyof typeof STATUSES;
const OPEN: readonly Status[] = ['open', 'pending', 'resuming', 'uncertain'];

const PAGE = 50;
/** Nobody counts further. */
export const MANY = 10;
/** What cannot be meant is as if it were not there. */
const given = <S extends z.ZodType>(schema: S) => schema.optional().catch(undefined);
const Filters = z.object({
  status: z.enum(Object.keys(STATUSES) as [Status, ...Status[]]).catch('open'),
  waitFor: given(WaitType),
  assistantId: given(id),
  sessionId: given(id),
  scope: given(Scope),
  text: given(text.min(1).max(200)),
  after: given(z.string().max(100)),
});
export type Filters = z.output<typeof Filters>;

export function filtersOf(query: Record<string, string>): Filters {
  return Filters.parse(query);
}

export function queryOf(filters: Filters): Partial<ListQuery> {
  const set = Object.entries(filters).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(set), order: isOpen(filters) ? 'deadline' : 'latest', limit: PAGE };
}

const isOpen = ({ status }: Filters): boolean => OPEN.includes(status);

interface ListProps {
  readonly viewer: Viewer;
  readonly filters: Filters;
  readonly page: Page;
  /** How many outcomes an operator has to decide; at most `MANY`. */
  readonly uncertain: number;
}

export const ListPage: FC<ListProps> = ({ viewer, filters, page, uncertain }) => (
  <>
    <h1>{isOpen(filters) ? 'What waits' : 'What has ended'}</h1>
    <Tabs viewer={viewer} filters={filters} uncertain={uncertain} />
    <Search viewer={viewer} filters={filters} />
    <section aria-label="Continuations" data-live="list">
      {page.malformed?.map(({ message }) => (
        <Notice kind="bad" title="Cannot be shown">
          <Words text={message} />
        </Notice>
      ))}
      {page.records.length === 0 ? (
        <p class="empty">{isFiltered(filters) ? 'Nothing matches.' : 'Nothing here. All is answered.'}</p>
      ) : (
        <ul class="asks">
          {page.records.map((record) => (
            <Row viewer={viewer} record={record} />
          ))}
        </ul>
      )}
      <Pages viewer={viewer} filters={filters} next={page.next} />
    </section>
  </>
);

const Row: FC<{ viewer: Viewer; record: ContinuationRecord }> = ({ viewer, record }) => {
  const { id, waitFor, suspension, assistantId, sessionId, scope } = record;
  return (
    <li>
      <a class="ask" id={id} href={`${viewer.place.base}/${id}`}>
        <span class="ask-head">
          <span class={`tag ${waitFor.type}`}>{WAITS[waitFor.type]}</span>
          <State record={record} />
        </span>
        <span class="ask-question">
          <Words text={oneLine(suspension.question)} />
        </span>
        <span class="ask-foot">
          <Words text={assistantId} />
          {sessionId && (
            <>
              {' · session '}
              <Words text={sessionId} />
            </>
          )}
          {scope !== viewer.caller.scope && ` · ${scope}`}
        </span>
      </a>
    </li>
  );
};

const SOON_MS = 3_600_000;

const State: FC<{ record: ContinuationRecord }> = ({ record }) => {
  if (isTerminal(record))
    return (
      <span class="state">
        {statusWords(record)}, <Time at={record.updatedAt} />
      </span>
    );
  if (record.status !== 'pending' || record.supersededBy)
    return <span class={`state ${record.resume?.uncertain ? 'bad' : ''}`}>{statusWords(record)}</span>;
  const { expiresAt } = record.bounds;
  if (expiresAt === undefined) return <span class="state">No deadline</span>;
  const soon = Date.parse(expiresAt) - Date.now() < SOON_MS;
  return (
    <span class={soon ? 'state soon' : 'state'}>
      {soon ? 'Due soon: ' : 'Due '}
      <Time at={expiresAt} relative />
    </span>
  );
};

const Tabs: FC<Pick<ListProps, 'viewer' | 'filters' | 'uncertain'>> = ({ viewer, filters, uncertain }) => {
  const tab = (status: Status, label: string, current: boolean) => (
    <a href={`${viewer.place.base}?${new URLSearchParams({ status })}`} aria-current={current ? 'page' : undefined}>
      {label}
    </a>
  );
  const { status } = filters;
  const several = uncertain < MANY ? uncertain : `${MANY - 1}+`;
  return (
    <nav class="tabs" aria-label="Lists" data-live="tabs">
      {tab('open', 'Open', isOpen(filters) && status !== 'uncertain')}
      {tab('uncertain', `Unknown outcomes${uncertain === 0 ? '' : ` (${several})`}`, status === 'uncertain')}
      {tab('ended', 'Ended', !isOpen(filters))}
    </nav>
  );
};

const Search: FC<Pick<ListProps, 'viewer' | 'filters'>> = ({ viewer, filters }) => (
  <search>
    <form class="filters" method="get" action={viewer.place.base}>
      <div class="field grow">
        <label for="text">Words in the question</label>
        <input id="text" name="text" type="search" value={filters.text} maxlength={200} />
      </div>
      <button type="submit">Search</button>
      <details class="more" open={isFiltered({ ...filters, text: undefined })}>
        <summary>Filters</summary>
        <div class="fields">
          <Choice name="status" label="Status" value={filters.status} choices={STATUSES} />
          <Choice name="waitFor" label="Waits for" value={filters.waitFor} choices={{ '': 'Anything', ...WAITS }} />
          <Field name="assistantId" label="Assistant" value={filters.assistantId} />
          <Field name="sessionId" label="Session" value={filters.sessionId} />
          <Field name="scope" label="Scope" value={filters.scope} />
        </div>
      </details>
    </form>
  </search>
);

const Choice: FC<{
  name: string;
  label: string;
  value: string | undefined;
  choices: Readonly<Record<string, string>>;
}> = ({ name, label, value = '', choices }) => (
  <div class="field">
    <label for={name}>{label}</label>
    <select id={name} name={name}>
      {Object.entries(choices).map(([key, words]) => (
        <option value={key} selected={key === value}>
          {words}
        </option>
      ))}
    </select>
  </div>
);

const Field: FC<{ name: string; label: string; value: string | undefined }> = ({ name, label, value }) => (
  <div class="field">
    <label for={name}>{label}</label>
    <input id={name} name={name} value={value} autocomplete="off" spellcheck={false} />
  </div>
);

const Pages: FC<Pick<ListProps, 'viewer' | 'filters'> & { next: string | undefined }> = ({ viewer, filters, next }) => {
  const to = (after: string | undefined): string => {
    const set = Object.entries({ ...filters, after }).filter((entry): entry is [string, string] => Boolean(entry[1]));
    return `${viewer.place.base}?${new URLSearchParams(set)}`;
  };
  if (!next && !filters.after) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {filters.after && <a href={to(undefined)}>First page</a>}
      {next && <a href={to(next)}>Next page</a>}
    </nav>
  );
};

function isFiltered({ status, waitFor, assistantId, sessionId, scope, text: words }: Filters): boolean {
  const chosen = status !== 'open' && status !== 'ended' && status !== 'uncertain';
  return chosen || [waitFor, assistantId, sessionId, scope, words].some((one) => one !== undefined);
}
