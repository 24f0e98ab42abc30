/** Files of the machine: a folder, what can be had of it, put there, renamed and deleted. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FileEntry } from '../../../api/terminal/ports.ts';
import { Ago } from '../../parts/ago.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { bytesOf } from '../../quantities.ts';
import type { Change, FileMoves, Folder, Move } from '../../terminal/file-moves.ts';
import { folderAbove, modeText, pathIn, shownName, typedNameOf } from '../../terminal/paths.ts';
import { TERMINAL } from '../../texts/terminal.ts';
import { FileTools, NameDialog } from './file-tools.tsx';

const T = TERMINAL.file;

/** Beside the terminal, over its connection. */
export function FilePanel({ files }: { readonly files: FileMoves }) {
  const folder = files.folder.value;
  const move = files.move.value;
  const told = files.told.value;
  const isBusy = move !== null || files.isChanging.value;
  useEffect(() => {
    if (files.folder.value === null) files.list('.');
  }, [files]);
  return (
    <section class="files" aria-label={T.title} tabIndex={-1}>
      <Place files={files} folder={folder} />
      <FileTools files={files} folder={folder} isBusy={isBusy} />
      <div role="status" class="told">
        {move !== null && <Moving move={move} cancel={() => files.cancel()} />}
        {move === null && told !== null && (
          <p class={told.isFailed ? 'ill' : 'well'}>
            <bdi>{told.text}</bdi>
          </p>
        )}
      </div>
      {folder !== null && <Entries files={files} folder={folder} isBusy={isBusy} />}
    </section>
  );
}

function Place({ files, folder }: { readonly files: FileMoves; readonly folder: Folder | null }) {
  const typed = useSignal<string | null>(null);
  const path = folder?.path ?? '';
  return (
    <form
      class="place"
      onSubmit={(event) => {
        event.preventDefault();
        files.list(typed.value || path);
        typed.value = null;
      }}
    >
      <label>
        <span>{T.folder}</span>
        <input
          value={typed.value ?? path}
          placeholder={path}
          maxLength={4_096}
          spellcheck={false}
          autocomplete="off"
          // a folder that is listed while somebody stands in it writes nothing between what is typed
          onFocus={() => (typed.value ??= path)}
          onBlur={() => (typed.value === '' || typed.value === path) && (typed.value = null)}
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
      </label>
      <button>{T.show}</button>
      <button type="button" disabled={folder === null} onClick={() => files.list(folderAbove(path))}>
        {T.up}
      </button>
    </form>
  );
}

function Moving({ move: { kind, name, bytes, total }, cancel }: { readonly move: Move; readonly cancel: () => void }) {
  const text = kind === 'download' ? T.downloading(shownName(name)) : T.uploading(shownName(name));
  return (
    <div class="moving">
      <span>
        <bdi>{text}</bdi> <span class="soft">{`${bytesOf(bytes)} / ${total === null ? '?' : bytesOf(total)}`}</span>
      </span>
      <progress aria-label={text} value={bytes} max={Math.max(total ?? 0, 1)} />
      <button type="button" onClick={cancel}>
        {T.cancel}
      </button>
    </div>
  );
}

function Entries({
  files,
  folder: { path, entries, is_cut: isCut },
  isBusy,
}: {
  readonly files: FileMoves;
  readonly folder: Folder;
  readonly isBusy: boolean;
}) {
  const renamed = useSignal<string | null>(null);
  if (entries.length === 0) return <p class="soft">{T.empty}</p>;
  const sorted = entries.toSorted(
    (one, other) =>
      Number(other.kind === 'directory') - Number(one.kind === 'directory') || (one.name < other.name ? -1 : 1),
  );
  return (
    <>
      <div class="scroll" role="region" aria-label={T.entries} tabIndex={0} onKeyDown={toRow}>
        {isCut && <p class="ill">{T.cut(entries.length)}</p>}
        <table>
          <thead>
            <tr>
              {Object.entries(T.columns).map(([column, title]) => (
                <th key={column} scope="col" class={column === 'size' ? 'number' : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((entry) => (
              <Entry
                key={entry.name}
                entry={entry}
                path={pathIn(path, entry.name)}
                files={files}
                isBusy={isBusy}
                rename={(name) => (renamed.value = name)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {renamed.value !== null && (
        <Renaming files={files} folder={path} name={renamed.value} onClose={() => (renamed.value = null)} />
      )}
    </>
  );
}

interface EntryProps {
  readonly entry: FileEntry;
  readonly path: string;
  readonly files: FileMoves;
  readonly isBusy: boolean;
  readonly rename: (name: string) => void;
}

/** A folder and a link lead on; a file is downloaded. A name is whatever the machine says, and only text. */
function Entry(props: EntryProps) {
  const { entry, path, files, isBusy } = props;
  const { name, kind, bytes, modified_at: at, mode } = entry;
  const isFolder = kind === 'directory';
  const shown = shownName(name);
  return (
    <tr>
      <th scope="row" class="long">
        {kind === 'other' ? (
          <bdi>{shown}</bdi>
        ) : (
          <button
            type="button"
            class="plain"
            disabled={isBusy}
            aria-label={isFolder ? `${T.show} ${shown}` : T.downloadOf(shown)}
            onClick={() => void (isFolder ? files.list(path) : files.download(path, bytes))}
          >
            <bdi>{isFolder ? `${shown}/` : shown}</bdi>
          </button>
        )}
      </th>
      <td class="number">{isFolder ? '' : bytesOf(bytes)}</td>
      <td>
        <Ago at={new Date(Math.min(at, 8_640_000_000_000) * 1_000).toISOString()} />
      </td>
      <td>
        <code>{modeText(mode)}</code>
      </td>
      <td>
        <Changes {...props} />
      </td>
    </tr>
  );
}

/** Its name is another one then, or nothing has it. */
function Changes({ entry, path, files, isBusy, rename }: EntryProps) {
  const shown = shownName(entry.name);
  return (
    <span class="tools">
      <button type="button" disabled={isBusy} aria-label={T.rename.of(shown)} onClick={() => rename(entry.name)}>
        {T.rename.open}
      </button>
      <button
        type="button"
        disabled={isBusy}
        aria-label={T.delete.of(shown)}
        onClick={() => void remove(files, entry, path)}
      >
        {T.delete.open}
      </button>
    </span>
  );
}

/** Beside the table, whose cells would hold its lines together. */
function Renaming({
  files,
  folder,
  name,
  onClose,
}: {
  readonly files: FileMoves;
  readonly folder: string;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const shown = shownName(name);
  return (
    <NameDialog
      title={T.rename.of(shown)}
      label={T.rename.name}
      action={T.rename.action}
      name={shown === name ? name : ''}
      onName={(to) =>
        void change(
          files,
          { type: 'rename', path: pathIn(folder, name), to: pathIn(folder, to) },
          T.rename.done(shownName(to)),
        )
      }
      onClose={onClose}
    />
  );
}

/** What had the focus may be gone then: it stays in the panel. */
async function change(files: FileMoves, what: Change, done: string): Promise<void> {
  await files.change(what, done);
  document.querySelector<HTMLElement>('.files')?.focus();
}

async function remove(files: FileMoves, { name, kind }: Pick<FileEntry, 'name' | 'kind'>, path: string): Promise<void> {
  const { title, file, folder, link, word, open, done } = T.delete;
  const shown = shownName(name);
  const isWanted = await confirmed({
    title: title(shown),
    text: kind === 'directory' ? folder : kind === 'link' ? link : file,
    items: [shownName(path)],
    name: typedNameOf(name, word),
    action: open,
    isDangerous: true,
  });
  if (isWanted) await change(files, { type: 'delete', path }, done(shown));
}
