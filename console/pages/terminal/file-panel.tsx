/** Files of the machine: a folder, what can be had of it, and what can be put there. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { FileEntry } from '../../../api/terminal/ports.ts';
import { Ago } from '../../parts/ago.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { bytesOf } from '../../quantities.ts';
import type { FileMoves, Folder, Move } from '../../terminal/file-moves.ts';
import { folderAbove, modeText, pathIn, shownName } from '../../terminal/paths.ts';
import { TERMINAL } from '../../texts/terminal.ts';

const T = TERMINAL.file;

/** Beside the terminal, over its connection. */
export function FilePanel({ files }: { readonly files: FileMoves }) {
  const folder = files.folder.value;
  const move = files.move.value;
  const told = files.told.value;
  useEffect(() => {
    if (files.folder.value === null) files.list('.');
  }, [files]);
  return (
    <section class="files" aria-label={T.title}>
      <Place files={files} folder={folder} />
      <div role="status" class="told">
        {move !== null && <Moving move={move} cancel={() => files.cancel()} />}
        {move === null && told !== null && (
          <p class={told.isFailed ? 'ill' : 'well'}>
            <bdi>{told.text}</bdi>
          </p>
        )}
      </div>
      {folder !== null && <Entries files={files} folder={folder} isBusy={move !== null} />}
    </section>
  );
}

function Place({ files, folder }: { readonly files: FileMoves; readonly folder: Folder | null }) {
  const typed = useSignal<string | null>(null);
  const chosen = useRef<HTMLInputElement>(null);
  const path = folder?.path ?? '';
  const upload = async (file: File | undefined): Promise<void> => {
    if (file === undefined || folder === null) return;
    const isThere = folder.entries.some(({ name }) => name === file.name);
    const { title, text, action } = T.replace;
    const target = pathIn(path, file.name);
    if (isThere && !(await confirmed({ title, text, items: [target], action, isDangerous: true }))) return;
    files.upload(target, file, isThere);
  };
  return (
    <form
      class="place"
      onSubmit={(event) => {
        event.preventDefault();
        files.list(typed.value ?? path);
        typed.value = null;
      }}
    >
      <label>
        <span>{T.folder}</span>
        <input
          value={typed.value ?? path}
          maxLength={4_096}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
        />
      </label>
      <button>{T.show}</button>
      <button type="button" disabled={folder === null} onClick={() => files.list(folderAbove(path))}>
        {T.up}
      </button>
      <button type="button" disabled={folder === null} onClick={() => chosen.current?.click()}>
        {T.upload}
      </button>
      <input
        ref={chosen}
        type="file"
        hidden
        aria-label={T.upload}
        onChange={({ currentTarget }) => {
          void upload(currentTarget.files?.[0]);
          currentTarget.value = '';
        }}
      />
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
  if (entries.length === 0) return <p class="soft">{T.empty}</p>;
  const sorted = entries.toSorted(
    (one, other) =>
      Number(other.kind === 'directory') - Number(one.kind === 'directory') || (one.name < other.name ? -1 : 1),
  );
  return (
    <div class="scroll" role="region" aria-label={T.entries} tabIndex={0}>
      {isCut && <p class="ill">{T.cut(entries.length)}</p>}
      <table>
        <thead>
          <tr>
            <th scope="col">{T.columns.name}</th>
            <th scope="col" class="number">
              {T.columns.size}
            </th>
            <th scope="col">{T.columns.changed}</th>
            <th scope="col">{T.columns.mode}</th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((entry) => (
            <Entry key={entry.name} entry={entry} path={pathIn(path, entry.name)} files={files} isBusy={isBusy} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A folder and a link lead on; a file is downloaded. A name is whatever the machine says, and only text. */
function Entry({
  entry: { name, kind, bytes, modified_at: at, mode },
  path,
  files,
  isBusy,
}: {
  readonly entry: FileEntry;
  readonly path: string;
  readonly files: FileMoves;
  readonly isBusy: boolean;
}) {
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
            onClick={() => (isFolder ? files.list(path) : files.download(path, bytes))}
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
    </tr>
  );
}
