# bash completion of pacewise; made by `pacewise generate bash`
_pacewise() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W 'fit encode score reconstruct cluster graph evaluate verify info demo --help --version' -- "$word"))
    return
  fi
  case "${COMP_WORDS[1]} $before" in
    'fit --preset') COMPREPLY=($(compgen -W 'robust paper' -- "$word")); return ;;
    'fit --normalize') COMPREPLY=($(compgen -W 'unit none standard' -- "$word")); return ;;
    'fit --level') COMPREPLY=($(compgen -W 'none sample feature element' -- "$word")); return ;;
    'fit --regularizer') COMPREPLY=($(compgen -W 'hard linear polynomial logarithmic mixture welsch' -- "$word")); return ;;
    'fit --pace') COMPREPLY=($(compgen -W 'geometric quantile' -- "$word")); return ;;
    'fit --graph') COMPREPLY=($(compgen -W 'none knn hypergraph' -- "$word")) ;;
    'fit --graph-space') COMPREPLY=($(compgen -W 'raw pca:40 half:40 white:40 robust:40' -- "$word")) ;;
    'fit --edge-weight') COMPREPLY=($(compgen -W 'binary heat cosine probabilistic' -- "$word")); return ;;
    'fit --precision') COMPREPLY=($(compgen -W 'single double' -- "$word")); return ;;
    'fit --progress') COMPREPLY=($(compgen -W 'auto plain none' -- "$word")); return ;;
    'cluster --init') COMPREPLY=($(compgen -W 'random k-means++' -- "$word")); return ;;
    'cluster --normalize') COMPREPLY=($(compgen -W 'unit none' -- "$word")); return ;;
    'graph --graph') COMPREPLY=($(compgen -W 'knn hypergraph' -- "$word")); return ;;
    'graph --graph-space') COMPREPLY=($(compgen -W 'raw pca:40 half:40 white:40 robust:40' -- "$word")) ;;
    'graph --edge-weight') COMPREPLY=($(compgen -W 'binary heat cosine probabilistic' -- "$word")); return ;;
    'graph --normalize') COMPREPLY=($(compgen -W 'unit none standard' -- "$word")); return ;;
    'demo --progress') COMPREPLY=($(compgen -W 'auto plain none' -- "$word")); return ;;
  esac
  case ${COMP_WORDS[1]} in
    fit) options='-h --help -o --output --labels --weights --codes --weights-out --json --report --preset --atoms --beta --beta-ratio --alpha --gamma --eta --normalize --level --regularizer --pace --mu --select --final --pace-iter --plain-iter --warm-iter --polish --power --log-scale --mixture-ratio --graph --k --graph-space --edge-weight --heat-width --max-iter --tol --step-tol --seed --precision --max-seconds --checkpoint --every --resume --variable --label-column --threads --quiet --progress' ;;
    encode) options='-h --help -o --output --weights-out --scale-out --weights --plain --variable --label-column --threads --quiet' ;;
    score) options='-h --help -o --output --confidence --truth --weights --plain --variable --label-column --threads --quiet' ;;
    reconstruct) options='-h --help -o --output --scale --quiet' ;;
    cluster) options='-h --help --clusters --labels --runs --init --normalize --max-iter --seed -o --output --json --variable --label-column --threads --quiet' ;;
    graph) options='-h --help -o --output --incidence --graph --k --graph-space --edge-weight --heat-width --unnormalized --normalize --seed --variable --label-column --threads --quiet' ;;
    evaluate) options='-h --help --json' ;;
    verify) options='-h --help --weights --graph --graph-space --variable --label-column --threads --quiet' ;;
    info) options='-h --help --json --variable --label-column --threads' ;;
    demo) options='-h --help -o --output --data --json --save --per-class --atoms --seed --threads --quiet --progress' ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY+=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _pacewise pacewise
