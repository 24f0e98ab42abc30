/** What can be put into a folder of the machine: a new folder, a file, a folder with all that is in it. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { confirmed, type Question } from '../../parts/confirm.tsx';
import { Field, FormDialog } from '../../parts/form-dialog.tsx';
import { notify } from '../../parts/notice.tsx';
import type { FileMoves, Folder } from '../../terminal/file-moves.ts';
import { FOLDER_FILES_MAX, folderPlanOf } from '../../terminal/folder-upload.ts';
import { isPlainName, pathIn, shownName, typedNameOf } from '../../terminal/paths.ts';
import { TERMINAL } from '../../texts/terminal.ts';

const T = TERMINAL.file;

interface ToolsProps {
  readonly files: FileMoves;
  readonly folder: Folder | null;
  readonly isBusy: boolean;
}

/** The buttons. */
export function FileTools({ files, folder, isBusy }: ToolsProps) {
  const isMaking = useSignal(false);
  const isOff = folder === null || isBusy;
  return (
    <div class="tools" role="group" aria-label={T.tools}>
      <button type="button" disabled={isOff} onClick={() => (isMaking.value = true)}>
        {T.make.open}
      </button>
      <Chooser label={T.upload} isOff={isOff} chosen={([file]) => void upload(files, file)} />
      <Chooser label={T.uploadFolder} isOff={isOff} isFolder chosen={(found) => void uploadFolder(files, found)} />
      {isMaking.value && folder !== null && (
        <NameDialog
          title={T.make.title}
          label={T.make.name}
          action={T.make.action}
          onName={(name) =>
            void files.change(
              { type: 'make_folder', path: pathIn(folder.path, name), may_exist: false },
              T.make.done(shownName(name)),
            )
          }
          onClose={() => (isMaking.value = false)}
        />
      )}
    </div>
  );
}

/** A button, and the browser's own choice behind it. */
function Chooser({
  label,
  isOff,
  isFolder = false,
  chosen,
}: {
  readonly label: string;
  readonly isOff: boolean;
  readonly isFolder?: boolean;
  readonly chosen: (files: readonly File[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null) input.current.webkitdirectory = isFolder;
  }, [isFolder]);
  return (
    <>
      <button type="button" disabled={isOff} onClick={() => input.current?.click()}>
        {label}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        onChange={({ currentTarget }) => {
          chosen([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </>
  );
}

async function upload(files: FileMoves, file: File | undefined): Promise<void> {
  await files.upToDate(); // else what came a moment ago is not asked about, and refused
  const folder = files.folder.value;
  if (file === undefined || folder === null) return;
  const isThere = folder.entries.some(({ name }) => name === file.name);
  const target = pathIn(folder.path, file.name);
  if (isThere && !(await isToReplace(T.replace, file.name, target))) return;
  void files.upload(target, file, isThere);
}

async function uploadFolder(files: FileMoves, found: readonly File[]): Promise<void> {
  await files.upToDate();
  const folder = files.folder.value;
  const plan = folder === null ? null : folderPlanOf(folder.path, found);
  if (folder === null || plan === null) return;
  if (found.length > FOLDER_FILES_MAX) return notify({ kind: 'failed', text: T.folderTooMany(FOLDER_FILES_MAX) });
  const isThere = folder.entries.some(({ name }) => name === plan.name);
  if (isThere && !(await isToReplace(T.replaceFolder, plan.name, pathIn(folder.path, plan.name)))) return;
  await files.uploadFolder(plan, isThere);
}

/** What was there is lost: its name is typed before, or the word where no keyboard has that. */
function isToReplace(
  { word, ...question }: Pick<Question, 'title' | 'text' | 'action'> & { readonly word: string },
  name: string,
  path: string,
): Promise<boolean> {
  return confirmed({ ...question, items: [path], name: typedNameOf(name, word), isDangerous: true });
}

/** Asks for one name. What cannot be one is said at once. */
export function NameDialog({
  title,
  label,
  action,
  name = '',
  onName,
  onClose,
}: {
  readonly title: string;
  readonly label: string;
  readonly action: string;
  readonly name?: string;
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}) {
  return (
    <FormDialog
      title={title}
      action={action}
      onClose={onClose}
      send={async (valueOf) => {
        const given = valueOf('name');
        if (!isPlainName(given)) throw new Error(T.badName);
        onName(given);
      }}
    >
      <Field label={label}>
        <input name="name" required maxLength={255} defaultValue={name} autocomplete="off" spellcheck={false} />
      </Field>
    </FormDialog>
  );
}
